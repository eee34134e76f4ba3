import { Text, Tooltip } from "@mantine/core";
import { useEffect, useState } from "react";

import { ago } from "@/format/dates";

/** How long ago, with the moment itself on hover. */
export function Ago({ at }: { at: string }) {
  const [, refresh] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => refresh((n) => n + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <Tooltip label={new Date(at).toISOString()}>
      <Text component="time" dateTime={at} size="sm" className="dim" span>
        {ago(at)}
      </Text>
    </Tooltip>
  );
}
