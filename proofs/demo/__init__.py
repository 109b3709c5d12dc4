"""The demo: the whole product on one machine, with simulators in place of Meta and the gateway."""
