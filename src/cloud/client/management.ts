import type { Logger } from 'pino';
import type { Dialect } from '#cloud/contract/index.ts';
import { audioOperationsFor, cloudOperations } from '#cloud/contract/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { Transport } from '#lib/contract/client.ts';
import { authorised, type TokenSources } from './authorised.ts';
import { bindCalls, type CallOptions, type Calls, createPerform, type Perform } from './calls.ts';
import { createContact, createMonitoringStation, createSite } from './creations.ts';
import { addNvrDevices, createDevices, type DeviceContext, deleteDevices, updateDevices } from './devices.ts';
import type { InterfaceWatch } from './interface-watch.ts';
import type { GivenToken } from './other-tokens.ts';
import { type Rate, rateLimited } from './rate-limit.ts';
import { defaultRetry, type RetryRules } from './retry.ts';
import { findSite, listAllSites, type SiteContext, setActivation } from './sites.ts';

export interface ManagementOptions {
  /** Sends requests as they are. */
  readonly transport: Transport;
  readonly sources: TokenSources & { readonly user?: GivenToken };
  readonly watch: InterfaceWatch;
  readonly clock: Clock;
  readonly log: Logger;
  readonly dialect: Pick<Dialect, 'activation_body' | 'ref_path'>;
  readonly random?: () => number;
  readonly retry?: Partial<RetryRules>;
  /** 5 a second with a burst of 10 unless given. */
  readonly rate?: Rate;
}

/** Calls a person or a reconciliation must not make bare: each has a form below that is safe to call. */
type Replaced =
  | 'createSite'
  | 'createMonitoringStation'
  | 'createContact'
  | 'changeActivation'
  | 'createDevices'
  | 'updateDevices'
  | 'deleteDevices'
  | 'addNvrDevices';

type Fixed<F> = F extends (context: never, ...rest: infer Rest) => infer R ? (...rest: Rest) => R : never;

export interface Management extends Omit<Calls, Replaced> {
  readonly createSite: Fixed<typeof createSite>;
  readonly createMonitoringStation: Fixed<typeof createMonitoringStation>;
  readonly createContact: Fixed<typeof createContact>;
  readonly createDevices: Fixed<typeof createDevices>;
  readonly updateDevices: Fixed<typeof updateDevices>;
  readonly deleteDevices: Fixed<typeof deleteDevices>;
  readonly addNvrDevices: Fixed<typeof addNvrDevices>;
  readonly setActivation: Fixed<typeof setActivation>;
  readonly listAllSites: Fixed<typeof listAllSites>;
  readonly findSite: Fixed<typeof findSite>;
  /** Any operation, bare: one logical call with its retries. For tools that show what was answered. */
  readonly perform: Perform;
}

/**
 * The whole interface, one function per operation. Each resolves with a `Reply` or a `BulkOutcome`, or throws a
 * `SitewardError` with a `cloud_*` code; rejects with the reason of an aborted signal.
 */
export function createManagement(options: ManagementOptions): Management {
  const { clock, dialect, random, sources, watch } = options;
  const rate = options.rate ?? { perSecond: 5, burst: 10 };
  const callOptions: CallOptions = {
    ...options,
    operations: { ...cloudOperations, ...audioOperationsFor(dialect) },
    transport: authorised(rateLimited(options.transport, rate, clock), sources),
  };
  const perform = createPerform(callOptions);
  const calls = bindCalls(perform, callOptions);
  const once = {
    rules: { ...defaultRetry, ...options.retry },
    ...(random === undefined ? {} : { random }),
  };
  const context: SiteContext & DeviceContext = { calls, watch, dialect, once };
  return {
    ...calls,
    perform,
    createSite: (input) => createSite(context, input),
    setActivation: (input) => setActivation(context, input),
    listAllSites: (input) => listAllSites(context, input),
    findSite: (input) => findSite(context, input),
    createDevices: (input) => createDevices(context, input),
    updateDevices: (input) => updateDevices(context, input),
    deleteDevices: (input) => deleteDevices(context, input),
    addNvrDevices: (input) => addNvrDevices(context, input),
    createMonitoringStation: (input) => createMonitoringStation(context, input),
    createContact: (input) => createContact(context, input),
    async connectDealer(input) {
      const reply = await calls.connectDealer(input);
      sources.user?.forget();
      return reply;
    },
  };
}
