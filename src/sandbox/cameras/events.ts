import { escapeXml } from '#lib/xml.ts';
import { type Answer, timesXml } from './services.ts';
import { durationMs, type Fault, fault, notSupported, type SoapRequest } from './soap.ts';
import type { CameraState } from './state.ts';
import { longestLifeMs, type PullPoint } from './subscriptions.ts';
import { notificationXml, topicSetXml } from './topics.ts';

export const eventNamespace = 'http://www.onvif.org/ver10/events/wsdl';

const defaultLifeMs = 60_000;
const longestPullMs = 60_000;
const dialect = 'http://www.onvif.org/ver10/tev/topicExpression/ConcreteSet';

/** The event service, and the pull points at their own addresses (`pointId`). */
export async function answerEvents(
  camera: CameraState,
  request: SoapRequest,
  options: { pointId: string | undefined; signal: AbortSignal },
): Promise<Answer> {
  if (options.pointId === undefined) return answerService(camera, request);
  const point = camera.subscriptions.find(options.pointId);
  if (point === undefined) return unknownPoint;
  return answerPoint(camera, request, point, options.signal);
}

const unknownPoint: Fault = fault(400, 'Sender', ['ter:InvalidArgVal'], 'ResourceUnknownFault: no such pull point');

function answerService(camera: CameraState, request: SoapRequest): Answer {
  if (request.operation === 'CreatePullPointSubscription') return subscribe(camera, request);
  if (request.operation !== 'GetEventProperties') return notSupported(request.operation);
  return (
    '<tev:GetEventPropertiesResponse>' +
    '<tev:TopicNamespaceLocation>http://www.onvif.org/onvif/ver10/topics/topicns.xml</tev:TopicNamespaceLocation>' +
    `<wsnt:FixedTopicSet>true</wsnt:FixedTopicSet><wstop:TopicSet>${topicSetXml()}</wstop:TopicSet>` +
    `<wsnt:TopicExpressionDialect>${dialect}</wsnt:TopicExpressionDialect>` +
    '<tev:MessageContentFilterDialect>http://www.onvif.org/ver10/tev/messageContentFilter/ItemFilter</tev:MessageContentFilterDialect>' +
    '<tev:MessageContentSchemaLocation>http://www.onvif.org/onvif/ver10/schema/onvif.xsd</tev:MessageContentSchemaLocation>' +
    '</tev:GetEventPropertiesResponse>'
  );
}

function subscribe(camera: CameraState, request: SoapRequest): Answer {
  const lifeMs = lifeOf(request.text('InitialTerminationTime'), camera.now());
  if (lifeMs === undefined) return badTime;
  const point = camera.subscriptions.open(lifeMs, camera.initial());
  if (point === undefined) {
    return fault(
      500,
      'Receiver',
      ['ter:Action', 'ter:MaxPullPoints'],
      'SubscribeCreationFailedFault: all pull points are taken',
    );
  }
  return (
    `<tev:CreatePullPointSubscriptionResponse><tev:SubscriptionReference><wsa:Address>${escapeXml(camera.url)}` +
    `/onvif/pullpoint/${point.id}</wsa:Address></tev:SubscriptionReference>` +
    `${timesXml(camera.now(), point.expiresAt, 'wsnt')}</tev:CreatePullPointSubscriptionResponse>`
  );
}

async function answerPoint(
  camera: CameraState,
  request: SoapRequest,
  point: PullPoint,
  signal: AbortSignal,
): Promise<Answer> {
  switch (request.operation) {
    case 'PullMessages': {
      const timeoutMs = durationMs(request.text('Timeout') ?? 'PT5S');
      const limit = Number(request.text('MessageLimit') ?? 10);
      if (timeoutMs === undefined || !(limit >= 1)) return badTime;
      const messages = await camera.subscriptions.pull(point, Math.min(timeoutMs, longestPullMs), limit, signal);
      if (camera.subscriptions.find(point.id) === undefined) return unknownPoint;
      return (
        `<tev:PullMessagesResponse>${timesXml(camera.now(), point.expiresAt, 'tev')}` +
        `${messages.map(notificationXml).join('')}</tev:PullMessagesResponse>`
      );
    }
    case 'Renew': {
      const lifeMs = lifeOf(request.text('TerminationTime'), camera.now());
      if (lifeMs === undefined) return badTime;
      point.expiresAt = camera.now() + lifeMs;
      const [now, end] = [camera.now(), point.expiresAt];
      return `<wsnt:RenewResponse>${timesXml(now, end, 'wsnt')}</wsnt:RenewResponse>`;
    }
    case 'SetSynchronizationPoint':
      camera.subscriptions.notify(camera.initial(), point);
      return '<tev:SetSynchronizationPointResponse/>';
    case 'Unsubscribe':
      camera.subscriptions.close(point.id);
      return '<wsnt:UnsubscribeResponse/>';
    default:
      return notSupported(request.operation);
  }
}

const badTime: Fault = fault(
  400,
  'Sender',
  ['ter:InvalidArgVal'],
  'UnacceptableTerminationTimeFault: not a usable time',
);

/** A duration, or an absolute time on the camera's clock; absent is the default. Capped at ten minutes. */
function lifeOf(text: string | undefined, now: number): number | undefined {
  const lifeMs = text === undefined ? defaultLifeMs : (durationMs(text) ?? Date.parse(text) - now);
  return lifeMs > 0 ? Math.min(lifeMs, longestLifeMs) : undefined;
}
