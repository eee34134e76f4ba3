import { mergeConfig } from "vitest/config";

import base from "./vite.config.ts";

export default mergeConfig(base, { test: { environment: "node", setupFiles: ["src/api/exampleEngines.ts"], include: ["src/**/*.test.{ts,tsx}"] } });
