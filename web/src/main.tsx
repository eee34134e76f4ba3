import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "@/app/page.css";

import { noop } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { queries } from "@/api/cache";
import { enginesQuery, projectsQuery } from "@/api/queries";
import { Providers } from "@/app/Providers";
import { router } from "@/app/router";

const PATIENCE_MS = 150;

// `index.html` has requested both already: most often the first paint has its data.
const data = Promise.all([router.load(), queries.infiniteQuery(projectsQuery()).catch(noop), queries.query(enginesQuery).catch(noop)]);
await Promise.race([data, new Promise((go) => setTimeout(go, PATIENCE_MS))]);

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <Providers>
        <RouterProvider router={router} />
      </Providers>
    </StrictMode>,
  );
}
