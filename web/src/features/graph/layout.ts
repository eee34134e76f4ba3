import type { Arrangement, ToPlace } from "@/features/graph/arrange";

let worker: Worker | null = null;
let last = 0;
const waiting = new Map<number, (arranged: Arrangement) => void>();

/** Started before it is needed: a worker takes longer to start than to place a thousand boxes. */
export function startLayout(): Worker {
  if (!worker) {
    worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", (event: MessageEvent<{ number: number; arranged: Arrangement }>) => {
      waiting.get(event.data.number)?.(event.data.arranged);
      waiting.delete(event.data.number);
    });
  }
  return worker;
}

export function requestArrangement(place: ToPlace): Promise<Arrangement> {
  const number = ++last;
  const arrangement = new Promise<Arrangement>((resolve) => waiting.set(number, resolve));
  startLayout().postMessage({ number, place });
  return arrangement;
}
