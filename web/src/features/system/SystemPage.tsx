import { Skeleton, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { systemQuery } from "@/api/queries";
import { Engines } from "@/features/system/Engines";
import { Hardware } from "@/features/system/Hardware";
import { Health } from "@/features/system/Health";
import { Room } from "@/features/system/Room";
import { Page } from "@/ui/Page";
import { Trouble } from "@/ui/Trouble";

/** What this machine is, what can run on it, and whether it is fit to measure. */
export function SystemPage() {
  const system = useQuery(systemQuery);
  return (
    <Page title="System">
      <Health />
      <Engines />
      {system.isError && <Trouble error={system.error} retry={() => void system.refetch()} />}
      {system.isPending && (
        <Stack>
          <Skeleton height={320} />
          <Skeleton height={140} />
        </Stack>
      )}
      {system.data && (
        <>
          <Hardware host={system.data.host} />
          <Room system={system.data} />
        </>
      )}
    </Page>
  );
}
