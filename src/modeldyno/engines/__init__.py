"""One file per engine behind one small protocol; each loads its library only when opened."""
