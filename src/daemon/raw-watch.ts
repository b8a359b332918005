import type { Registry } from 'prom-client';
import { createRawWatch, type RawWatch } from '#devices/panels/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { House } from './house.ts';

/** The raw watch of the panels that run now, told over MQTT. */
export const rawWatch = (
  house: House,
  options: { readonly panels: readonly { readonly id: string }[]; readonly clock: Clock; readonly metrics: Registry },
): RawWatch =>
  createRawWatch({
    ...options,
    panels: options.panels.map(({ id }) => id),
    publish: (panel, frame) => house.lan?.publishRaw(panel, frame),
  });
