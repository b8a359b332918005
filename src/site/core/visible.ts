import type { Command, DetectionClass, SitePlan, ZoneNumber } from '#site/model/index.ts';
import { decide } from './decide.ts';
import { deviceName } from './events.ts';
import { isSilentKey, zoneKey } from './reports.ts';
import type { Decision, Holdable, Input, SiteState } from './types.ts';
import { zonePlan } from './work.ts';
import { visibleDoubts } from './zone-doubt.ts';
import { behaviour } from './zones.ts';

/**
 * What everybody may know of a site (safety 4). Silent hold-up and duress change nothing visible: what is decided about the
 * visible part of an input in the visible part of a state is the visible part of what is decided about both.
 */
export function visibleState(plan: SitePlan, state: SiteState): SiteState {
  const { silentIncidents: _, calls: __, reports, zoneDoubts: ___, ...shown } = state;
  const silent = new Set(plan.zones.filter((zone) => behaviour(zone).silent).map(({ number }) => zoneKey(number)));
  const told = reports?.filter(({ about }) => !silent.has(about) && !isSilentKey(about)) ?? [];
  return {
    ...shown,
    ...(told.length > 0 && { reports: told }),
    silent: {},
    ...visibleDoubts(plan, state),
    held: Object.fromEntries(
      Object.entries(state.held).flatMap(([key, held]) => {
        const shown = isSilent(plan, held) ? withoutLevel(held) : held;
        return shown === undefined ? [] : [[key, shown]];
      }),
    ),
  };
}

/** Undefined for an input that is silent as a whole. The same object where nothing of it is. */
export function visibleInput(plan: SitePlan, input: Input): Input | undefined {
  if (input.kind === 'duress' || (input.kind === 'loss' && input.silent === true)) return undefined;
  if (input.kind === 'panic' && input.call.kind === 'silent') return undefined;
  if (input.kind === 'command' && input.command.code === 'duress') {
    const command: Command = { ...input.command, code: 'ok' };
    return { ...input, command };
  }
  if (input.kind !== 'signal') return input;
  const { signal } = input;
  if (signal.kind === 'detection') {
    const { detection, source } = signal;
    const isHidden = plan.zones.some(
      (zone) =>
        behaviour(zone).silent &&
        deviceName(zone.source) === deviceName(source) &&
        (zone.input === undefined || mayBeInput.has(detection)),
    );
    return isHidden ? undefined : input;
  }
  if (signal.kind === 'alarm' && signal.alarm === 'panic_silent') return undefined;
  if (signal.kind !== 'zone' || !isSilent(plan, signal)) return input;
  const shown = withoutLevel(signal);
  return shown === undefined ? undefined : { ...input, signal: shown };
}

/** What a silent button that is wired to a device may be told as besides; what the device sees is visible. */
const mayBeInput: ReadonlySet<DetectionClass> = new Set(['input', 'relay', 'other']);

/** What everybody may know of a decision, and of the state before it. */
export interface Seen {
  readonly before: SiteState;
  readonly input: Input;
  readonly decision: Decision;
}

/** The decision as everybody may know it; undefined when nothing of the input is visible. */
export function visibleDecision(
  plan: SitePlan,
  before: SiteState,
  { input, decision }: { readonly input: Input; readonly decision: Decision },
): Seen | undefined {
  const shown = visibleInput(plan, input);
  if (shown === undefined) return undefined;
  if (shown === input && !hides(plan, before, input)) return { before, input, decision };
  const visible = visibleState(plan, before);
  return { before: visible, input: shown, decision: decide(plan, visible, shown) };
}

/** Whether what is not visible of the state can play a part in the decision. */
function hides(plan: SitePlan, state: SiteState, input: Input): boolean {
  return (
    input.kind === 'signal' &&
    input.signal.kind === 'link' &&
    Object.values(state.held).some((held) => isSilent(plan, held))
  );
}

const isSilent = (plan: SitePlan, signal: { readonly kind: string; readonly zone?: ZoneNumber }): boolean => {
  const zone = signal.kind === 'zone' && signal.zone !== undefined ? zonePlan(plan, signal.zone) : undefined;
  return zone !== undefined && behaviour(zone).silent;
};

/** Of a silent zone its health alone is visible. */
function withoutLevel<S extends Holdable>(signal: S): S | undefined {
  if (signal.kind !== 'zone') return signal;
  const { open, alarm, opensOnly: _, ...others } = signal;
  const { report: __, ageMs: ___, sentAt: ____, code: _____, ...unreported } = others;
  const rest = open === undefined && alarm === undefined ? others : unreported;
  const tells = ['tamper', 'bypassed', 'lowBattery', 'online'].some((member) => member in rest);
  return tells ? (rest as S) : undefined;
}
