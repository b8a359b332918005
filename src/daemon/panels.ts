import type { Registry } from 'prom-client';
import { slugOf } from '#box/broker.ts';
import { type Settings, sitePlan } from '#config/index.ts';
import {
  bridgedPanels,
  createPanels,
  createReceiver,
  dc09Profile,
  type Panels,
  type Receiver,
} from '#devices/panels/index.ts';
import type { Controller } from '#site/controller.ts';
import { brokerConnect } from './broker.ts';
import { heardUntil, panelWords } from './heard-until.ts';
import { type House, knowsTime, running, type Surroundings } from './house.ts';
import { rawWatch } from './raw-watch.ts';

/** Rejects while no controller runs. */
const emitIn =
  (house: House): Controller['signals'] =>
  (signals) =>
    running(house, 'controller').signals(signals);

/** The panels on the broker. `startedWall`: when the daemon started; wall clock, milliseconds. */
export function sitePanels(
  next: Settings,
  metrics: Registry,
  { house, clock, quality, log }: Surroundings,
  { profiles, startedWall }: { readonly profiles: readonly string[]; readonly startedWall: number },
): Panels {
  const view = house.controller?.view();
  const heard = heardUntil(view, startedWall);
  house.rawWatch = rawWatch(house, { panels: bridgedPanels(next.panels), clock, metrics });
  return createPanels({
    raw: house.rawWatch,
    known: panelWords(view),
    panels: bridgedPanels(next.panels),
    code: (id) => next.panels.find((panel) => panel.id === id)?.code,
    profiles,
    confirmMs: next.arming.confirm_timeout,
    connect: brokerConnect(next, house.broker),
    siteSlug: slugOf(next.site.external_id),
    memory: running(house, 'store').memory('panels'),
    knowsTime: knowsTime(quality),
    clock,
    log: log('panels'),
    metrics,
    emit: emitIn(house),
    ...(heard !== undefined && { heardUntil: heard }),
  });
}

/** The receiver of panels that report by DC-09; undefined where none is configured. */
export function siteReceiver(
  next: Settings,
  metrics: Registry,
  { house, clock, quality, settings, log }: Surroundings,
): Receiver | undefined {
  if (next.dc09 === undefined) return undefined;
  const zones = new Map(sitePlan(next).zones.map((zone) => [zone.number, zone.partitions]));
  return createReceiver({
    dc09: next.dc09,
    panels: next.panels.filter(({ profile }) => profile === dc09Profile),
    partitionsOf: (zone) => zones.get(zone) ?? [],
    knowsTime: knowsTime(quality),
    timezone: () => settings().site.timezone,
    memory: running(house, 'store').memory('dc09'),
    clock,
    log: log('receiver'),
    metrics,
    emit: emitIn(house),
  });
}
