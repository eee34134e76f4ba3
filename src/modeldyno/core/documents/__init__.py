"""What the world sees of each noun: one dataclass each, with public names and units.

``/api/v1``, ``--json``, exports, the client and the page all speak these; JSON Schemas, OpenAPI and
TypeScript are generated from them. Every field is always there, and null means unknown.
"""
