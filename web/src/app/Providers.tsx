import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, type ReactNode } from "react";

import { queries } from "@/api/cache";
import { listen } from "@/api/events";
import { theme } from "@/app/theme";

// Notifications that come before it is loaded wait for it.
const Notifications = lazy(() => import("@mantine/notifications").then((module) => ({ default: module.Notifications })));

export function Providers({ children }: { children: ReactNode }) {
  useEffect(listen, []);
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto">
      <QueryClientProvider client={queries}>
        {children}
        <Suspense>
          <Notifications position="bottom-right" limit={4} />
        </Suspense>
      </QueryClientProvider>
    </MantineProvider>
  );
}
