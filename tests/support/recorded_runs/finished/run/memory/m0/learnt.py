"""What was learnt. Colours are numbers; -1 is transparent, or open ground."""

bodies = (  # R1, R2
    {'look': ((-1, 14, 14, -1), (14, 1, 14, 1), (14, 14, 14, 14), (-1, 14, 14, -1)), 'moves': {1: (-4, 0), 2: (4, 0), 3: (0, -4), 4: (0, 4)}},
)
under = None  # R3
floor = (5,)  # R4
gates = ()  # R5
contacts = {  # R5
    ('floor',): ('enter', ()),  # R8
    ('colour', (2, 3)): ('stop', ()),  # R9
    ('colour', (7, 9)): ('win', ()),  # R10
}
far = {}  # R5
guess = None
click = None
turns = {}  # none
around = {}  # none
goals = ()  # none
starts = {}  # R6
places = {}  # R6
histories = ()  # R7
strips = ()  # none
refills = ()  # none
lives = ()  # none
view = None
maps = ()  # none
copies = ()  # none
patches = ()  # none
