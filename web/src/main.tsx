import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "@/app/page.css";

import { noop } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { queries } from "@/api/cache";
import { projectsQuery } from "@/api/queries";
import { Providers } from "@/app/Providers";
import { router } from "@/app/router";

const PATIENCE_MS = 150;

// Its answer is on its way since `index.html`: most often what is painted first is the real thing.
const known = Promise.all([router.load(), queries.infiniteQuery(projectsQuery()).catch(noop)]);
await Promise.race([known, new Promise((go) => setTimeout(go, PATIENCE_MS))]);

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
