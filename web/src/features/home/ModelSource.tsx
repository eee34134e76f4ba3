import { Skeleton, Stack, Tabs } from "@mantine/core";
import { lazy, Suspense } from "react";

import { DropArea } from "@/features/home/DropArea";
import { UnderWay } from "@/features/home/UnderWay";
import type { ModelImport } from "@/features/home/useModelImport";
import { Trouble } from "@/ui/Trouble";

const ServerFolders = lazy(() => import("@/features/home/ServerFolders").then((module) => ({ default: module.ServerFolders })));
const ExampleGallery = lazy(() => import("@/features/home/ExampleGallery").then((module) => ({ default: module.ExampleGallery })));

/** The three ways in: a file of yours, a file of the server, an example. */
export function ModelSource({ bring }: { bring: ModelImport }) {
  if (bring.now.step !== "idle" && bring.now.step !== "refused") return <UnderWay now={bring.now} stop={bring.stop} />;
  return (
    <Stack gap="sm">
      <Tabs defaultValue="file" keepMounted={false}>
        <Tabs.List mb="sm" aria-label="Where the model is">
          <Tabs.Tab value="file">Your file</Tabs.Tab>
          <Tabs.Tab value="server">Server folders</Tabs.Tab>
          <Tabs.Tab value="examples">Examples</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="file">
          <DropArea take={bring.files} />
        </Tabs.Panel>
        <Tabs.Panel value="server">
          <Suspense fallback={<Skeleton height={180} />}>
            <ServerFolders choose={bring.fromServer} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="examples">
          <Suspense fallback={<Skeleton height={180} />}>
            <ExampleGallery choose={bring.example} />
          </Suspense>
        </Tabs.Panel>
      </Tabs>
      {bring.now.step === "refused" && <Trouble error={bring.now.error} />}
    </Stack>
  );
}
