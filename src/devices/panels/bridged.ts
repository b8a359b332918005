import { dc09Profile } from './dc09-options.ts';

/** The panels an MQTT bridge speaks for, without what is secret in their entries. */
export function bridgedPanels<P extends { readonly profile: string; readonly code?: unknown; readonly dc09?: unknown }>(
  panels: readonly P[],
): Omit<P, 'code' | 'dc09'>[] {
  return panels.filter(({ profile }) => profile !== dc09Profile).map(({ code: _, dc09: __, ...panel }) => panel);
}
