"""Why an authority refused a note, in plain words."""
