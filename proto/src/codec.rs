//! How messages become bytes and bytes messages: as prost does, but for requests that would become much
//! larger than they are.

use std::marker::PhantomData;

use bytes::Buf;
use prost::{Message, Name};
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

use crate::weight::is_bearable;

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
                "the message's lists have more elements than one of its length can have",
            ));
        }
        self.0.decode(bytes)
    }

    fn buffer_settings(&self) -> BufferSettings {
        self.0.buffer_settings()
    }
}
