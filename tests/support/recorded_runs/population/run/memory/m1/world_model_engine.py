"""A walking world: the contract over `walker`, and `layers` over it, with what was learnt in `learnt`."""

import learnt
from layers import Layers
from walker import Walker

world = Layers(learnt, Walker(learnt))
initial_state = world.initial_state
step = world.step
render = world.render
is_goal = world.is_goal
is_over = world.is_over
