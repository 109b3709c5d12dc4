"""What the tests fork: some Python of the test's own, then ``prosa``, then all that an interpreter does at its end."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading

from proofs.__main__ import main

sys.argv[0] = "prosa"
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may be under nohup
exec(os.environ.pop("BEFORE_PROSA", ""))  # noqa: S102 - the test's own
try:
    main()
finally:  # a fork leaves by `os._exit`, which does neither
    threading._shutdown()  # type: ignore[attr-defined]  # as Py_FinalizeEx does; private, so untyped
    atexit._run_exitfuncs()
