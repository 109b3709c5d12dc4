"""Commands of a clone: the demo, the storm and the measurements need the simulators."""
