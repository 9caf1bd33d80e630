"""Lists the installed packages: name, version, when each came, its programs."""

import importlib.metadata
import json
import os

found = []
for d in importlib.metadata.distributions():
    try:
        changed = os.stat(str(d._path)).st_ctime
        programs = [os.path.realpath(str(d.locate_file(f))) for f in d.files or [] if "bin" in f.parts]
        found.append({
            "name": d.metadata["Name"], "version": d.version, "changed": changed,
            "local": bool(d.read_text("direct_url.json")), "files": programs,
        })
    except Exception:
        continue
print(json.dumps(found))
