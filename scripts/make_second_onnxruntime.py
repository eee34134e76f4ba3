"""Install another version of ONNX Runtime beside ours, for the tests of isolated environments.

It lands in .cache/engines/second-onnxruntime/, as `modeldyno engines add --pip` makes it; what is
there already is not made again.
"""

import os
from pathlib import Path

from modeldyno.engines import environments
from modeldyno.services.environments import add_engine, remove_engine

NAME = "second-onnxruntime"
# One that needs little besides itself.
REQUIREMENTS = ("onnxruntime==1.27.0", "numpy==2.4.6")
SHELF = Path(__file__).parents[1] / ".cache" / "engines"


def main() -> None:
    os.environ[environments.FOLDER_VARIABLE] = str(SHELF)
    python = SHELF / NAME / "venv" / "bin" / "python"
    there = next((one for one in environments.added_environments() if one.name == NAME), None)
    if isinstance(there, environments.Environment):
        if there.requirements == REQUIREMENTS and python.exists():
            return
        remove_engine(NAME)
    print(f"Installing {' '.join(REQUIREMENTS)} into an environment of its own ...", flush=True)
    add_engine(NAME, requirements=REQUIREMENTS)


if __name__ == "__main__":
    main()
