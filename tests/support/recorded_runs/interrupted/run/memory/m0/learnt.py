"""What was learnt. Colours are numbers; -1 is transparent, or open ground."""

bodies = (  # R1, R2
    {'look': ((-1, 6, 6, -1), (6, 1, 6, 1), (6, 6, 6, 6), (-1, 6, 6, -1)), 'moves': {1: (-4, 0), 2: (4, 0), 3: (0, -4), 4: (0, 4)}},
)
under = None  # R3
floor = (5,)  # R4
gates = ()  # R5
contacts = {  # R5
    ('floor',): ('enter', ()),  # R8
    ('colour', (8, 10)): ('win', ()),  # R9
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
strips = (  # R10
    (0, (61, 62), 49, 6, 14, 4, (2, 1, 0), 'always', -1),
)
refills = ()  # R10
lives = ()  # none
view = None
maps = ()  # none
copies = ()  # none
patches = ()  # none
