import { mergeConfig } from "vitest/config";

import base from "./vite.config";

export default mergeConfig(base, { test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"] } });
