import type { Arranged, ToPlace } from "@/features/graph/arrange";

let worker: Worker | null = null;
let last = 0;
const waiting = new Map<number, (arranged: Arranged) => void>();

/** Started before it is needed: a worker takes longer to come than to place a thousand boxes. */
export function startLayout(): Worker {
  if (!worker) {
    worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", (event: MessageEvent<{ number: number; arranged: Arranged }>) => {
      waiting.get(event.data.number)?.(event.data.arranged);
      waiting.delete(event.data.number);
    });
  }
  return worker;
}

export function laidOut(place: ToPlace): Promise<Arranged> {
  const number = ++last;
  const found = new Promise<Arranged>((resolve) => waiting.set(number, resolve));
  startLayout().postMessage({ number, place });
  return found;
}
