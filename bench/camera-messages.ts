/** A SOAP answer as cameras write it. */
export const answerOf = (body: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:tt="http://www.onvif.org/ver10/schema" xmlns:tds="http://www.onvif.org/ver10/device/wsdl" xmlns:tev="http://www.onvif.org/ver10/events/wsdl" xmlns:w="http://docs.oasis-open.org/wsn/b-2" xmlns:a="http://www.w3.org/2005/08/addressing" xmlns:tns1="http://www.onvif.org/ver10/topics"><s:Body>${body}</s:Body></s:Envelope>`;

/** One change of motion. */
export const message = (on: boolean, time: string) =>
  `<w:NotificationMessage><w:Topic Dialect="http://www.onvif.org/ver10/tev/topicExpression/ConcreteSet">tns1:RuleEngine/CellMotionDetector/Motion</w:Topic><w:Message><tt:Message UtcTime="${time}" PropertyOperation="Changed"><tt:Source><tt:SimpleItem Name="VideoSourceConfigurationToken" Value="000"/><tt:SimpleItem Name="VideoAnalyticsConfigurationToken" Value="000"/><tt:SimpleItem Name="Rule" Value="000"/></tt:Source><tt:Data><tt:SimpleItem Name="IsMotion" Value="${on}"/></tt:Data></tt:Message></w:Message></w:NotificationMessage>`;

/** The answer of a recorder to GetProfiles: three profiles for each channel, each of 234 elements and attributes, as the largest captured ones. */
export function profilesOf(channels: number): string {
  const item = (at: number) => `<tt:SimpleItem Name="Parameter${at}">1920</tt:SimpleItem>`;
  const items = Array.from({ length: 114 }, (_, at) => item(at)).join('');
  const profile = (at: number) =>
    `<tt:Profiles token="Profile_${at}"><tt:Name>Main</tt:Name><tt:VideoSourceConfiguration><tt:SourceToken>VideoSource_${Math.floor(at / 3)}</tt:SourceToken></tt:VideoSourceConfiguration>${items}</tt:Profiles>`;
  const profiles = Array.from({ length: channels * 3 }, (_, at) => profile(at)).join('');
  return answerOf(`<tt:GetProfilesResponse>${profiles}</tt:GetProfilesResponse>`);
}
