import { isCode, SitewardError } from '#errors.ts';
import { isLoopback } from '#lib/host.ts';
import { badField } from '../access.ts';
import { partnerError } from '../answers.ts';
import { exchangeOf, openRules, type Resource, resource } from '../resource.ts';
import type { CloudState } from '../state.ts';
import * as operations from './operations.ts';
import { worldHandlers } from './world.ts';

/** The control path: for tests, demo and training; loopback peers only, everybody else sees an unknown path (S-021). */
export function controlResource(state: CloudState): Resource {
  return resource(
    operations,
    {
      listEvents: ({ query }) =>
        ok({
          events: state.events.list().filter((event) => event.seq > query.after),
          dropped: state.events.dropped,
        }),
      listUploads: () => ok({ uploads: state.uploads.list(), dropped: state.uploads.dropped }),
      readUpload: ({ params }) => {
        const upload = state.uploads.find(params.id);
        if (upload?.content === undefined)
          return partnerError(404, 'this upload does not exist or is not kept any more');
        return { status: 200, body: upload.content, headers: { 'content-type': upload.media_type } };
      },
      readLog: () => ok({ log: state.log() }),
      listFaults: () => ok({ faults: state.faults.list() }),
      plantFault: ({ body }) =>
        state.faults.plant(body)
          ? ok({ faults: state.faults.list() })
          : partnerError(400, 'there are 100 planted faults already; DELETE /__sandbox/faults removes them'),
      clearFaults: () => ok({ removed: state.faults.clear() }),
      revoke: () => ok({ revoked: state.tokens.revokeAll() }),
      setClock: ({ body }) => {
        state.setClockOffset(body.offset_s);
        return ok({ offset_s: body.offset_s, now: new Date(state.now()).toISOString() });
      },
      reset: () => {
        state.reset();
        return ok({ reset: true });
      },
      ...worldHandlers(state),
    },
    {
      ...openRules,
      failed: (operation, error, context) => controlFailure(error) ?? openRules.failed(operation, error, context),
      identify: (_, context) => {
        const exchange = exchangeOf(context);
        return isLoopback(exchange.remoteAddress ?? '')
          ? { exchange }
          : partnerError(404, 'there is nothing at this path');
      },
    },
  );
}

/** What the caller can mend: a dealer or client that contradicts itself or what is there, and a bound. */
function controlFailure(error: unknown) {
  if (!(error instanceof SitewardError)) return undefined;
  if (isCode(error, 'queue_full')) return badField('body', error.message);
  if (!isCode(error, 'config_invalid')) return undefined;
  return badField(String(error.facts.field ?? 'body'), String(error.facts.why ?? error.message));
}

const ok = (body: object) => ({ status: 200, body });
