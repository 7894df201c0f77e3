"""What was learnt. Colours are numbers; -1 is transparent, or open ground."""

bodies = (  # R1, R2
    {'look': ((4, 6, 6, 4), (6, 1, 6, 1), (6, 6, 6, 6), (4, 6, 6, 4)), 'moves': {1: (-4, 0), 2: (4, 0), 3: (0, -4), 4: (0, 4)}},
)
under = None  # R3
floor = (4,)  # R4
gates = ()  # R5
contacts = {  # R5
    ('floor',): ('enter', ()),  # R8
    ('colour', (11, 12)): ('stop', ()),  # R9
    ('shape', ('#..#', '.##.', '.##.', '#..#')): ('win', ()),  # R10
    ('shape', ('####', '....', '....', '####')): ('enter', ()),  # R11
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
