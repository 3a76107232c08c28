"""The parts of contrib/plugin-check: report, protocol (the paragraph form, one plugin process), session (one
plugin with the checker's books of it), model (what may be granted), scenarios (by hand), walk (random)."""
