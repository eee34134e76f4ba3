import type { Samples } from "@/charts/samples";

/** The samples of one cell out of a run's file: milliseconds of a whole batch, in the order they were taken. */
export function samplesOf(csv: string, cell: number): Samples {
  const wanted = String(cell);
  const ms: number[] = [];
  const sessions: number[] = [];
  const lines = csv.split(/\r?\n/);
  const at = (name: string) => (lines[0] ?? "").split(",").indexOf(name);
  const [of, session, calls, wall] = [at("cell"), at("session"), at("calls"), at("wall_ns")];
  for (const line of lines.slice(1)) {
    const fields = line.split(",");
    if (fields[of] !== wanted) continue;
    ms.push(Number(fields[wall]) / Math.max(1, Number(fields[calls])) / 1e6);
    sessions.push(Number(fields[session]));
  }
  return { ms: Float64Array.from(ms), sessions: Int32Array.from(sessions) };
}
