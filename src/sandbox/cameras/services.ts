import { escapeXml } from '#lib/xml.ts';
import { type Fault, isoTime, notSupported, type SoapRequest } from './soap.ts';
import type { CameraState } from './state.ts';

/** The answer to one operation: XML of the body, or a refusal. */
export type Answer = string | Fault;
type Answering = (camera: CameraState, request: SoapRequest) => Answer;

/** Operations that ONVIF opens to everybody (access class PRE_AUTH). */
export const openOperations: ReadonlySet<string> = new Set([
  'GetSystemDateAndTime',
  'GetCapabilities',
  'GetServices',
  'GetServiceCapabilities',
  'GetHostname',
]);

/** Device and media service; events are in `events.ts`. */
export function answerPlain(camera: CameraState, request: SoapRequest): Answer {
  const table = new Map<string, Answering>(Object.entries({ ...device, ...media }));
  return table.get(request.operation)?.(camera, request) ?? notSupported(request.operation);
}

const device: Readonly<Record<string, Answering>> = {
  GetSystemDateAndTime: (camera) => {
    const now = new Date(camera.now());
    const time = `<tt:Hour>${now.getUTCHours()}</tt:Hour><tt:Minute>${now.getUTCMinutes()}</tt:Minute><tt:Second>${now.getUTCSeconds()}</tt:Second>`;
    const date = `<tt:Year>${now.getUTCFullYear()}</tt:Year><tt:Month>${now.getUTCMonth() + 1}</tt:Month><tt:Day>${now.getUTCDate()}</tt:Day>`;
    return (
      '<tds:GetSystemDateAndTimeResponse><tds:SystemDateAndTime><tt:DateTimeType>NTP</tt:DateTimeType>' +
      '<tt:DaylightSavings>false</tt:DaylightSavings><tt:TimeZone><tt:TZ>UTC0</tt:TZ></tt:TimeZone>' +
      `<tt:UTCDateTime><tt:Time>${time}</tt:Time><tt:Date>${date}</tt:Date></tt:UTCDateTime>` +
      '</tds:SystemDateAndTime></tds:GetSystemDateAndTimeResponse>'
    );
  },
  GetDeviceInformation: (camera) =>
    '<tds:GetDeviceInformationResponse><tds:Manufacturer>Siteward</tds:Manufacturer><tds:Model>Simulated camera</tds:Model>' +
    `<tds:FirmwareVersion>1.0.0</tds:FirmwareVersion><tds:SerialNumber>${escapeXml(camera.serial)}</tds:SerialNumber>` +
    '<tds:HardwareId>1.0</tds:HardwareId></tds:GetDeviceInformationResponse>',
  GetCapabilities: (camera) =>
    '<tds:GetCapabilitiesResponse><tds:Capabilities>' +
    `<tt:Device><tt:XAddr>${camera.url}/onvif/device_service</tt:XAddr></tt:Device>` +
    `<tt:Events><tt:XAddr>${camera.url}/onvif/event_service</tt:XAddr>` +
    '<tt:WSSubscriptionPolicySupport>false</tt:WSSubscriptionPolicySupport><tt:WSPullPointSupport>true</tt:WSPullPointSupport>' +
    '<tt:WSPausableSubscriptionManagerInterfaceSupport>false</tt:WSPausableSubscriptionManagerInterfaceSupport></tt:Events>' +
    `<tt:Media><tt:XAddr>${camera.url}/onvif/media_service</tt:XAddr><tt:StreamingCapabilities>` +
    '<tt:RTPMulticast>false</tt:RTPMulticast><tt:RTP_TCP>true</tt:RTP_TCP><tt:RTP_RTSP_TCP>true</tt:RTP_RTSP_TCP>' +
    '</tt:StreamingCapabilities></tt:Media></tds:Capabilities></tds:GetCapabilitiesResponse>',
  GetServices: (camera) => {
    const service = (name: string, path: string) =>
      `<tds:Service><tds:Namespace>http://www.onvif.org/ver10/${name}/wsdl</tds:Namespace>` +
      `<tds:XAddr>${camera.url}/onvif/${path}</tds:XAddr>` +
      '<tds:Version><tt:Major>2</tt:Major><tt:Minor>60</tt:Minor></tds:Version></tds:Service>';
    const all = [
      service('device', 'device_service'),
      service('media', 'media_service'),
      service('events', 'event_service'),
    ];
    return `<tds:GetServicesResponse>${all.join('')}</tds:GetServicesResponse>`;
  },
  GetScopes: (camera) => {
    const scope = (text: string) =>
      `<tds:Scopes><tt:ScopeDef>Fixed</tt:ScopeDef><tt:ScopeItem>onvif://www.onvif.org/${text}</tt:ScopeItem></tds:Scopes>`;
    const all = [
      scope('Profile/Streaming'),
      scope('type/video_encoder'),
      scope(`name/${encodeURIComponent(camera.id)}`),
    ];
    return `<tds:GetScopesResponse>${all.join('')}</tds:GetScopesResponse>`;
  },
  GetHostname: (camera) =>
    '<tds:GetHostnameResponse><tds:HostnameInformation><tt:FromDHCP>false</tt:FromDHCP>' +
    `<tt:Name>${escapeXml(camera.id)}</tt:Name></tds:HostnameInformation></tds:GetHostnameResponse>`,
  GetNetworkInterfaces: (camera) =>
    '<tds:GetNetworkInterfacesResponse><tds:NetworkInterfaces token="eth0"><tt:Enabled>true</tt:Enabled>' +
    `<tt:Info><tt:Name>eth0</tt:Name><tt:HwAddress>${camera.mac}</tt:HwAddress><tt:MTU>1500</tt:MTU></tt:Info>` +
    '</tds:NetworkInterfaces></tds:GetNetworkInterfacesResponse>',
};

const resolution = '<tt:Resolution><tt:Width>640</tt:Width><tt:Height>360</tt:Height></tt:Resolution>';
const bounds = '<tt:Bounds x="0" y="0" width="640" height="360"/>';

const media: Readonly<Record<string, Answering>> = {
  GetProfiles: () =>
    '<trt:GetProfilesResponse><trt:Profiles token="Profile_1" fixed="true"><tt:Name>main</tt:Name>' +
    '<tt:VideoSourceConfiguration token="VideoSourceToken"><tt:Name>source</tt:Name><tt:UseCount>1</tt:UseCount>' +
    `<tt:SourceToken>VideoSource_1</tt:SourceToken>${bounds}</tt:VideoSourceConfiguration>` +
    '<tt:VideoEncoderConfiguration token="VideoEncoderToken"><tt:Name>encoder</tt:Name><tt:UseCount>1</tt:UseCount>' +
    `<tt:Encoding>H264</tt:Encoding>${resolution}<tt:Quality>4</tt:Quality><tt:RateControl>` +
    '<tt:FrameRateLimit>15</tt:FrameRateLimit><tt:EncodingInterval>1</tt:EncodingInterval><tt:BitrateLimit>1024</tt:BitrateLimit>' +
    '</tt:RateControl><tt:SessionTimeout>PT60S</tt:SessionTimeout></tt:VideoEncoderConfiguration>' +
    '</trt:Profiles></trt:GetProfilesResponse>',
  GetVideoSources: () =>
    '<trt:GetVideoSourcesResponse><trt:VideoSources token="VideoSource_1"><tt:Framerate>15</tt:Framerate>' +
    `${resolution}</trt:VideoSources></trt:GetVideoSourcesResponse>`,
  GetSnapshotUri: (camera) => mediaUri('Snapshot', `${camera.url}/snapshot/Profile_1`),
  GetStreamUri: (camera) => mediaUri('Stream', `rtsp://${new URL(camera.url).hostname}:554/Profile_1`),
};

const mediaUri = (what: string, uri: string): string =>
  `<trt:Get${what}UriResponse><trt:MediaUri><tt:Uri>${escapeXml(uri)}</tt:Uri>` +
  '<tt:InvalidAfterConnect>false</tt:InvalidAfterConnect><tt:InvalidAfterReboot>false</tt:InvalidAfterReboot>' +
  `<tt:Timeout>PT0S</tt:Timeout></trt:MediaUri></trt:Get${what}UriResponse>`;

export const timesXml = (now: number, end: number, prefix: string): string =>
  `<${prefix}:CurrentTime>${isoTime(now)}</${prefix}:CurrentTime><${prefix}:TerminationTime>${isoTime(end)}</${prefix}:TerminationTime>`;
