type Linked = { id: number; rerun_of: number | null };

/** A benchmark and all that repeat the same one, oldest first: the numbers of benchmarks only grow. */
export function lineageOf<Row extends Linked>(id: number, rows: readonly Row[]): Row[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const root = (from: number): number => {
    const before = byId.get(from)?.rerun_of;
    // What is no longer there ends the line, and so would a circle.
    return before == null || before >= from || !byId.has(before) ? from : root(before);
  };
  const own = root(id);
  return rows.filter((row) => root(row.id) === own).sort((a, b) => a.id - b.id);
}
