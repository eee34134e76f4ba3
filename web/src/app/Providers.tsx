import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { useEffect, type ReactNode } from "react";

import { queries } from "@/api/cache";
import { listen } from "@/api/events";
import { theme } from "@/app/theme";

export function Providers({ children }: { children: ReactNode }) {
  useEffect(listen, []);
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto">
      <QueryClientProvider client={queries}>
        <Notifications position="bottom-right" limit={4} />
        {children}
      </QueryClientProvider>
    </MantineProvider>
  );
}
