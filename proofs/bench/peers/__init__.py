"""What our figures are compared with."""
