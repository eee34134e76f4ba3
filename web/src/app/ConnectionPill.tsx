import { Badge, Tooltip } from "@mantine/core";

import { useConnection } from "@/api/connection";
import { clockTime } from "@/format/dates";

/** Only there while events do not reach us. */
export function ConnectionPill() {
  const { isUp, since } = useConnection();
  if (isUp) return null;
  return (
    <Tooltip label={`Results are safe. What you see is from ${clockTime(since)}.`}>
      <Badge color="orange" variant="light" tt="none" role="status" tabIndex={0}>
        Reconnecting… showing data from {clockTime(since)}
      </Badge>
    </Tooltip>
  );
}
