import {
  type CameraModel,
  cameraModel,
  notification,
  type Reply,
  type Script,
  soap,
  tinyJpeg,
} from './scripted-camera.ts';

export interface RecorderChannel {
  /** Token of its video source. */
  source: string;
  name: string;
  resolution: string;
  /** Configuration, analytics and profile tokens; the profiles are main and sub. */
  configuration: string;
  analytics?: string;
  profiles: readonly string[];
  picture: Uint8Array;
}

export interface RecorderModel extends CameraModel {
  script: Script;
  /** Those it lists now. */
  channels: RecorderChannel[];
  /** One address for all, as many recorders have; `{}` is where the first channel's number stands. */
  shared?: string;
  /** Pictures under way at the same time, at most. */
  mostPictures: number;
  pictureMs: number;
}

/** As Hikvision names its tokens, unless told otherwise. */
export const recorderChannel = (number: number, more: Partial<RecorderChannel> = {}): RecorderChannel => ({
  source: `VideoSource_${number}`,
  name: `Cam ${number}`,
  resolution: '1920x1080',
  configuration: `VideoSourceConfig_${number}`,
  analytics: `Analytics_${number}`,
  profiles: [`Profile_${number}01`, `Profile_${number}02`],
  picture: picture(number),
  ...more,
});

/** A picture whose width tells the channel. */
export function picture(number: number): Uint8Array {
  const bytes = tinyJpeg();
  bytes[bytes.indexOf(0xc0) + 7] = 0x80 + number;
  return bytes;
}

/** A well-behaved recorder, by default of 8 channels: the scripted camera with more sources. */
export function recorderModel(change: Partial<RecorderModel> = {}): RecorderModel {
  let under = 0;
  const model: RecorderModel = Object.assign(cameraModel(change), {
    channels: Array.from({ length: 8 }, (_, at) => recorderChannel(at + 1)),
    mostPictures: 0,
    pictureMs: 5,
    ...change,
  });
  const { before } = change;
  model.before = async (request, camera) => {
    const own = await before?.(request, camera);
    if (own !== undefined) return own;
    if (request.operation === '' && request.path.startsWith('/channel')) {
      under += 1;
      model.mostPictures = Math.max(model.mostPictures, under);
      await new Promise((resolve) => setTimeout(resolve, model.pictureMs));
      under -= 1;
    }
    return recorderAnswer(model, request.operation, request.body, request.path);
  };
  return model;
}

function recorderAnswer(model: RecorderModel, operation: string, body: string, path: string): Reply | undefined {
  switch (operation) {
    case 'GetVideoSources':
      return {
        body: soap(`<trt:GetVideoSourcesResponse>${model.channels.map(source).join('')}</trt:GetVideoSourcesResponse>`),
      };
    case 'GetProfiles':
      return {
        body: soap(`<trt:GetProfilesResponse>${model.channels.map(profiles).join('')}</trt:GetProfilesResponse>`),
      };
    case 'GetSnapshotUri':
      return uri(
        'GetSnapshotUri',
        `http://10.0.0.9${model.shared?.replace('{}', '1') ?? `/channel/${channelOf(model, body)}`}`,
      );
    case 'GetStreamUri':
      return uri('GetStreamUri', `rtsp://u:p@10.0.0.9/stream/${channelOf(model, body)}`);
    case 'GetNetworkInterfaces':
      return {
        body: soap(
          '<tds:GetNetworkInterfacesResponse><tds:NetworkInterfaces token="eth0"><tt:Enabled>true</tt:Enabled><tt:Info><tt:HwAddress>00-11-22-AA-BB-CC</tt:HwAddress></tt:Info></tds:NetworkInterfaces></tds:GetNetworkInterfacesResponse>',
        ),
      };
    case '': {
      const number = Number(/^\/channel(?:\/|\.jpg\?channel=)(\d+)/.exec(path)?.[1] ?? Number.NaN);
      const found =
        model.shared === undefined ? model.channels.find((_, at) => at + 1 === number)?.picture : picture(number);
      return found === undefined ? undefined : { headers: { 'content-type': 'image/jpeg' }, body: found };
    }
    default:
      return undefined;
  }
}

const source = ({ source, resolution }: RecorderChannel) => {
  const [width, height] = resolution.split('x');
  return `<trt:VideoSources token="${source}"><tt:Framerate>25</tt:Framerate><tt:Resolution><tt:Width>${width}</tt:Width><tt:Height>${height}</tt:Height></tt:Resolution></trt:VideoSources>`;
};

const profiles = ({ source, name, configuration, analytics, profiles }: RecorderChannel) =>
  profiles
    .map(
      (token) =>
        `<trt:Profiles token="${token}" fixed="true"><tt:Name>${name}</tt:Name><tt:VideoSourceConfiguration token="${configuration}"><tt:Name>x</tt:Name><tt:SourceToken>${source}</tt:SourceToken></tt:VideoSourceConfiguration>${analytics === undefined ? '' : `<tt:VideoAnalyticsConfiguration token="${analytics}"/>`}</trt:Profiles>`,
    )
    .join('');

const channelOf = (model: RecorderModel, body: string) =>
  model.channels.findIndex(({ profiles }) => profiles.some((token) => body.includes(`>${token}<`))) + 1;

const uri = (name: string, address: string): Reply => ({
  body: soap(`<trt:${name}Response><trt:MediaUri><tt:Uri>${address}</tt:Uri></trt:MediaUri></trt:${name}Response>`),
});

/** A person, by the configuration of the channel's source. */
export const person = (number: number, on = true, operation = 'Changed') =>
  notification({
    topic: 'tns1:UserAlarm/IVA/HumanShapeDetect',
    operation,
    source: { VideoSourceConfigurationToken: `VideoSourceConfig_${number}` },
    data: { State: String(on) },
  });

export const signalLoss = (token: string, on: boolean, operation = 'Changed') =>
  notification({
    topic: 'tns1:VideoSource/SignalLoss',
    operation,
    source: { Source: token },
    data: { State: String(on) },
  });

export const digitalInput = (token: string, on: boolean, operation = 'Changed') =>
  notification({
    topic: 'tns1:Device/Trigger/DigitalInput',
    operation,
    source: { InputToken: token },
    data: { LogicalState: String(on) },
  });
