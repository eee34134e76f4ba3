import { Alert, Button } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";

import { queries } from "@/api/cache";
import { api, answerOf } from "@/api/client";
import { queueQuery } from "@/api/queries";
import { queryKeys } from "@/api/queryKeys";
import { showError } from "@/features/queue/JobLine";

/** Pauses or resumes the queue. */
export function PauseButton() {
  const queue = useQuery(queueQuery);
  const isPaused = queue.data?.is_paused ?? false;
  const turn = useMutation({
    mutationFn: (pause: boolean) => answerOf(pause ? api.POST("/api/v1/queue/pause") : api.POST("/api/v1/queue/resume")),
    // The reason why each job waits changes, too.
    onSuccess: () => queries.invalidateQueries({ queryKey: queryKeys.jobs }),
    onError: showError,
  });
  if (!queue.data) return null;
  return (
    <Button
      variant={isPaused ? "filled" : "default"}
      leftSection={isPaused ? <IconPlayerPlay size={16} /> : <IconPlayerPause size={16} />}
      loading={turn.isPending}
      onClick={() => turn.mutate(!isPaused)}
    >
      {isPaused ? "Resume queue" : "Pause queue"}
    </Button>
  );
}

export function PausedLine() {
  const isPaused = useQuery(queueQuery).data?.is_paused ?? false;
  if (!isPaused) return null;
  return (
    <Alert color="orange" variant="light" title="The queue is paused" role="status">
      The running job continues to its end; nothing else starts until you resume the queue, even after the server restarts.
    </Alert>
  );
}
