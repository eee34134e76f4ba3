import { ActionIcon, Anchor, AppShell, Box, Burger, Group, NavLink, ScrollArea, Stack, Text, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCpu, IconHelp, IconPlus, IconSearch, IconSettings, IconStack2 } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect } from "react";

import { enginesQuery, projectsQuery } from "@/api/queries";
import { ConnectionPill } from "@/app/ConnectionPill";
import { JobsIndicator } from "@/app/JobsIndicator";
import { ThemeSwitch } from "@/app/ThemeSwitch";
import { useShortcuts } from "@/app/shortcuts";

// Loaded when first needed: neither belongs to the first page.
const Palette = lazy(() => import("@/app/Palette").then((module) => ({ default: module.Palette })));
const KeySheet = lazy(() => import("@/app/KeySheet").then((module) => ({ default: module.KeySheet })));

export function Shell() {
  const [isMenuOpen, menu] = useDisclosure();
  const [isSearching, search] = useDisclosure();
  const [isHelping, help] = useDisclosure();
  const place = useRouterState({ select: (state) => state.location.pathname });
  const projects = useInfiniteQuery(projectsQuery());
  const areEnginesNamed = !useQuery(enginesQuery).isPending;
  useShortcuts({ search: search.open, help: help.open });
  const { close: closeMenu } = menu;
  useEffect(closeMenu, [closeMenu, place]); // another page closes it
  const rows = projects.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <AppShell header={{ height: 52 }} navbar={{ width: 220, breakpoint: "sm", collapsed: { mobile: !isMenuOpen } }} padding="md">
      <a href="#content" className="skip-link">
        Skip to the content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" gap="sm" wrap="nowrap" justify="space-between">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={isMenuOpen} onClick={menu.toggle} hiddenFrom="sm" size="sm" aria-label="Menu" />
            <Anchor component={Link} to="/" underline="never" c="inherit" fw={700} size="lg" aria-label="Modeldyno, all projects">
              <Group gap={8} wrap="nowrap">
                <img src="/icon.svg" width={24} height={24} alt="" />
                <Box component="span" visibleFrom="xs">
                  Modeldyno
                </Box>
              </Group>
            </Anchor>
          </Group>
          <Group gap={6} wrap="nowrap">
            <ConnectionPill />
            <JobsIndicator />
            <Tooltip label="Search (Ctrl+K)">
              <ActionIcon variant="subtle" color="gray" size="lg" onClick={search.open} aria-label="Search">
                <IconSearch size={18} />
              </ActionIcon>
            </Tooltip>
            <ThemeSwitch />
            <Tooltip label="Keys (?)">
              <ActionIcon variant="subtle" color="gray" size="lg" onClick={help.open} aria-label="Keys">
                <IconHelp size={18} />
              </ActionIcon>
            </Tooltip>
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Projects">
        <NavLink component={Link} to="/new" label="New project" leftSection={<IconPlus size={16} />} active={place === "/new"} />
        <AppShell.Section grow component={ScrollArea} my="xs">
          <Stack gap={0}>
            {rows.map((project) => (
              <NavLink
                key={project.id}
                component={Link}
                to={`/p/${project.id}`}
                label={
                  <Text size="sm" truncate>
                    {project.name}
                  </Text>
                }
                active={place === `/p/${project.id}` || place.startsWith(`/p/${project.id}/`)}
              />
            ))}
            {projects.hasNextPage && <NavLink label="Show more" onClick={() => void projects.fetchNextPage()} component="button" />}
          </Stack>
        </AppShell.Section>
        <NavLink component={Link} to="/queue" label="Queue" leftSection={<IconStack2 size={16} />} active={place === "/queue"} />
        <NavLink component={Link} to="/system" label="System" leftSection={<IconCpu size={16} />} active={place === "/system"} />
        <NavLink component={Link} to="/settings" label="Settings" leftSection={<IconSettings size={16} />} active={place === "/settings"} />
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Box maw={1280} mx="auto">
          {areEnginesNamed && <Outlet />}
        </Box>
      </AppShell.Main>
      <Suspense>
        {isSearching && <Palette close={search.close} />}
        {isHelping && <KeySheet close={help.close} />}
      </Suspense>
    </AppShell>
  );
}
