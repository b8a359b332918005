import { Hono } from 'hono';
import { refuseOtherMethods } from '#lib/contract/server.ts';
import { isLoopback } from '#lib/host.ts';
import { apiError, partnerError } from './answers.ts';
import { controlResource } from './control/resource.ts';
import { Pace } from './pace.ts';
import { exchangeOf, type Resource } from './resource.ts';
import { activityLogsResource } from './resources/activity-logs.ts';
import { armingSettingsResource, armingStatusResource } from './resources/arming.ts';
import { audioResource } from './resources/audio.ts';
import { contactsResource } from './resources/contacts.ts';
import { dealersResource } from './resources/dealers.ts';
import { devicesResource } from './resources/devices.ts';
import { eventsResource } from './resources/events.ts';
import { nvrsResource } from './resources/nvrs.ts';
import { picturesResource, publicResource } from './resources/public.ts';
import { siteLinksResource } from './resources/site-links.ts';
import { sitesResource } from './resources/sites.ts';
import { stationsResource } from './resources/stations.ts';
import { tokensResource } from './resources/tokens.ts';
import { uploadsResource } from './resources/uploads.ts';
import { verificationsResource } from './resources/verifications.ts';
import { resumeUploads } from './resumed.ts';
import type { CloudState } from './state.ts';

/** All routes of the service. A new resource is one file and one line here. */
export function buildApp(state: CloudState, options: { control: boolean }): Hono {
  const app = new Hono();
  limitPace(app, state);
  resumeUploads(app, state);
  const resources: Resource[] = [
    tokensResource(state),
    eventsResource(state),
    uploadsResource(state),
    dealersResource(state),
    sitesResource(state),
    siteLinksResource(state),
    stationsResource(state),
    contactsResource(state),
    devicesResource(state),
    armingSettingsResource(state),
    armingStatusResource(state),
    nvrsResource(state),
    activityLogsResource(state),
    verificationsResource(state),
    audioResource(state),
    publicResource(state),
    picturesResource(state),
  ];
  if (options.control) resources.push(controlResource(state));
  for (const part of resources) part.bind(app);
  refuseOtherMethods(
    app,
    resources.flatMap((part) => part.operations),
    (allow, context) => {
      const { path } = context.req;
      if (path.startsWith('/__sandbox') && !isLoopback(exchangeOf(context).remoteAddress ?? ''))
        return nothingHere(path);
      return { ...refusal(path, 405, `use ${allow.join(' or ')} here`), headers: { allow: allow.join(', ') } };
    },
  );
  app.notFound((context) => Response.json(nothingHere(context.req.path).body, { status: 404 }));
  return app;
}

/** Only where the dialect sets a limit (S-021); the control path has none. */
function limitPace(app: Hono, state: CloudState): void {
  const { requests_per_minute } = state.dialect;
  if (requests_per_minute === undefined) return;
  const pace = new Pace(requests_per_minute);
  app.use(async (context, next) => {
    const { path } = context.req;
    const waitS = path.startsWith('/__sandbox') ? undefined : pace.take(state.now());
    if (waitS === undefined) return next();
    const { body } = refusal(path, 429, `at most ${requests_per_minute} requests per minute`);
    return Response.json(body, { status: 429, headers: { 'retry-after': String(waitS) } });
  });
}

const nothingHere = (path: string) => refusal(path, 404, 'there is nothing at this path');

/** In the shape of the interface the path belongs to. */
function refusal(path: string, status: 404 | 405 | 429, message: string) {
  if (!/^\/((ext|ref)\/)?v1\//.test(path)) return partnerError(status, message);
  const codes = { 404: 'not_found', 405: 'method_not_allowed', 429: 'too_many_requests' } as const;
  return apiError(status, codes[status], message);
}
