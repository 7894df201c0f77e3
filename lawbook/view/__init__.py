"""What people see of a run: the live display, the text of commands, the report, the picture. Reads; changes nothing."""
