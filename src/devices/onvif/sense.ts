import type { DeviceRef, Signal } from '#site/model/index.ts';
import type { Notification } from './notification.ts';
import type { InputOptions } from './options.ts';

/** What a session must know of its device to tell what a message is about, beyond the topic. */
export interface Sense {
  /** What a message is about: the camera itself, the recorder, or one of its channels. */
  sourceOf(message: Notification): DeviceRef;
  /** Rises when the same messages may mean other sources than before. */
  readonly version: number;
  /** Before events are taken: reads what must be known for it. Throws what `Device.call` throws. */
  learn(signal: AbortSignal): Promise<void>;
  /** What is told in place of these signals, and what has become due by itself; monotonic milliseconds. */
  refine(signals: readonly Signal[], now: number): readonly Signal[];
  /** Milliseconds until `refine` has something to tell by itself. */
  dueMs(now: number): number;
}

/** A camera is about itself; only its inputs are zones of their own. */
export function cameraSense(source: DeviceRef, inputs: Inputs | undefined): Sense {
  return {
    sourceOf: () => source,
    version: 0,
    learn: async () => undefined,
    refine: (signals) => zonesOfInputs(signals, source, inputs),
    dueMs: () => Number.POSITIVE_INFINITY,
  };
}

export type Inputs = Readonly<Record<string, InputOptions>>;

/** The zones that an installer has bound to inputs speak in their place. */
export function zonesOfInputs(
  signals: readonly Signal[],
  device: DeviceRef,
  inputs: Inputs | undefined,
): readonly Signal[] {
  if (inputs === undefined) return signals;
  return signals.flatMap((signal): readonly Signal[] => {
    const input = inputOf(signal, device, inputs);
    if (signal.kind !== 'detection' || input === undefined) return [signal];
    const zone = (active: boolean): Signal => ({
      kind: 'zone',
      source: device,
      zone: input.zone,
      open: active !== (input.normally === 'closed'),
      replay: signal.replay,
    });
    // What happened once is no present state.
    if (signal.pulse) return signal.replay ? [] : [zone(true), zone(false)];
    return [zone(signal.active)];
  });
}

function inputOf(signal: Signal, device: DeviceRef, inputs: Inputs): InputOptions | undefined {
  if (signal.kind !== 'detection' || signal.detection !== 'input' || signal.rule === undefined) return undefined;
  const mine = signal.source.kind === device.kind && signal.source.id === device.id;
  return mine && Object.hasOwn(inputs, signal.rule) ? inputs[signal.rule] : undefined;
}

/** Silent buttons wired to a device: what they say must show to nobody (safety 4). */
export interface SilentInputs {
  readonly some: boolean;
  /** By its token, as what repeats a state makes no signal and would show all the same. */
  said(message: Notification): boolean;
}

export function silentInputs(inputs: Inputs = {}): SilentInputs {
  const tokens = new Set(
    Object.entries(inputs).flatMap(([token, { zone_type }]) => (zone_type === 'panic_silent' ? token : [])),
  );
  return {
    some: tokens.size > 0,
    said: ({ source }) => tokens.size > 0 && Object.values(source).some((token) => tokens.has(token)),
  };
}
