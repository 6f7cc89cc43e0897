"""`ordinal audit` as an auditor runs it: on the log of a stopped venue, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path


def assert_audit_holds(config: Path, data: Path, hash_seed: str = "random") -> str:
    """Run the audit under a PYTHONHASHSEED; its output, once it has found no difference."""
    ordinal = Path(sys.executable).with_name("ordinal")
    audit = subprocess.run(
        [str(ordinal), "audit", str(config), "--data", str(data)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
    )
    assert audit.returncode == 0, audit.stdout + audit.stderr
    return audit.stdout
