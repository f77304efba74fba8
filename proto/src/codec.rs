//! How messages become bytes and bytes messages: as prost does, but for requests that would become much
//! larger than they are.

use std::marker::PhantomData;

use bytes::Buf;
use prost::{Message, Name};
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

use crate::decode_cost::is_bearable;

/// Writes `T` and reads `U`, which is weighed first.
#[derive(Clone, Debug)]
pub struct Careful<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for Careful<T, U> {
    fn default() -> Self {
        Careful(PhantomData)
    }
}

impl<T, U> Codec for Careful<T, U>
where
    T: Message + Send + 'static,
    U: Message + Name + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = CarefulDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::default().encoder()
    }

    fn decoder(&mut self) -> Self::Decoder {
        CarefulDecoder(ProstCodec::<T, U>::default().decoder())
    }
}

/// Whether a message of this name is what a caller sends. A wrong one is the caller's fault; a wrong answer,
/// which a client decodes, is the coordinator's.
fn is_request(name: &str) -> bool {
    name.ends_with("Request") || name == "CampaignRef"
}

/// Reads `U`.
#[derive(Debug)]
pub struct CarefulDecoder<U>(ProstDecoder<U>);

impl<U: Message + Name + Default> Decoder for CarefulDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        // A message is in one piece when it comes here.
        if !is_bearable(U::NAME, bytes.chunk()) {
            return Err(Status::invalid_argument(
                "the message's lists have more elements than its length allows",
            ));
        }
        let decoded = self.0.decode(bytes);
        if !is_request(U::NAME) {
            return decoded;
        }
        decoded.map_err(|status| {
            Status::invalid_argument(format!(
                "the message is not a {} of {}: {}",
                U::NAME,
                U::PACKAGE,
                status.message()
            ))
        })
    }

    fn buffer_settings(&self) -> BufferSettings {
        self.0.buffer_settings()
    }
}

#[cfg(test)]
mod tests {
    use super::is_request;

    #[test]
    fn what_callers_send_is_known_by_its_name() {
        let files = [
            include_str!("../kazoe/v1/admin.proto"),
            include_str!("../kazoe/v1/campaigns.proto"),
            include_str!("../kazoe/v1/work.proto"),
        ];
        let mut methods = 0;
        for line in files.into_iter().flat_map(str::lines) {
            let Some(method) = line.trim().strip_prefix("rpc ") else {
                continue;
            };
            let names: Vec<&str> = method
                .split(['(', ')'])
                .map(|part| part.trim_start_matches("stream "))
                .collect();
            assert!(is_request(names[1]), "{line}");
            assert!(!is_request(names[3]), "{line}");
            methods += 1;
        }
        assert!(methods > 20, "{methods}");
    }
}
