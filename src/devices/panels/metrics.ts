import { Counter, Gauge, type Registry } from 'prom-client';

/** What the panels of this bridge count. */
export function createMetrics(metrics: Registry) {
  const registers = [metrics];
  return {
    messages: new Counter({
      name: 'siteward_panel_messages_total',
      help: 'Messages from panels by what became of them: read, ignored, unmapped, dropped, unmatched',
      labelNames: ['panel', 'result'] as const,
      registers,
    }),
    commands: new Counter({
      name: 'siteward_panel_commands_total',
      help: 'Commands to panels by what became of them: sent, under_way, there, refused',
      labelNames: ['panel', 'result'] as const,
      registers,
    }),
    connected: new Gauge({
      name: 'siteward_panel_broker_connected',
      help: '1 while the panels can be heard',
      registers,
    }),
  };
}
