import { Button, Card, Stack, Text, Title } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { api, answerOf } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import { Trouble } from "@/ui/Trouble";

export function TryDemo() {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const make = useMutation({
    mutationFn: () => answerOf(api.POST("/api/v1/demo")),
    onSuccess: async ({ project_id }) => {
      void cache.invalidateQueries({ queryKey: queryKeys.projects });
      await navigate({ to: "/p/$pid", params: { pid: project_id } });
    },
  });
  return (
    <Card component="section" aria-label="Try the demo" h="100%">
      <Stack gap="xs" align="flex-start">
        <Title order={2} size="h4">
          Try the demo
        </Title>
        <Text size="sm">A small classifier of handwritten digits: how fast is it here, with one image at a time or eight, on one core or more?</Text>
        <Text size="sm" className="dim">
          Real measurements on this machine, about a minute. Works offline.
        </Text>
        <Button leftSection={<IconPlayerPlay size={16} />} loading={make.isPending} onClick={() => make.mutate()}>
          Run demo
        </Button>
        {make.isError && <Trouble error={make.error} />}
      </Stack>
    </Card>
  );
}
