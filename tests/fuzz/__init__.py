"""Files with known answers, damaged files, killed commands and full disks: what no user should meet.

``make fuzz`` runs all parts; docs/reliability.md says what they show. A case is made from its name
alone, such as ``known:1:17`` (part, seed, number), so that any failure can be run again.
"""
