"""The viewer in a browser: what a page asks of a run (plain data, no server needed), and the server that answers it."""
