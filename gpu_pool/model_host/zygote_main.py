"""Entry of the zygote: `python -I -S -B zygote_main.py MOUNT_POINT CACHE`.

-S leaves out site.py, so the packages' folder is put on the path here, and nothing else is.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = Path(sys.executable).parent.parent / "lib" / version / "site-packages"
    sys.path += [str(packages), str(Path(__file__).resolve().parent)]
    from swage_model_host import warm

    facts = warm.up(sys.argv[2])  # sets the environment that torch reads, so it comes first
    from swage_model_host import zygote

    sys.exit(zygote.main(sys.argv[1], sys.argv[2], facts))
