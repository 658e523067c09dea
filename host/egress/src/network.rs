//! The network under the way out: names to addresses, and connections to addresses. Decides nothing. A trait,
//! so that tests can say what a name means and see which address is connected to.

use std::io;
use std::net::{IpAddr, SocketAddr};

use futures_util::future::BoxFuture;
use tokio::net::TcpStream;

/// Names and connections.
pub(crate) trait Network: Send + Sync + 'static {
    /// The addresses of a name, by the machine's resolver; asked once for every connection.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;

    /// A connection to this very address.
    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>>;
}

/// The machine's own.
pub(crate) struct Machine;

impl Network for Machine {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            let mut addresses: Vec<IpAddr> = Vec::new();
            for address in found.map(|found| found.ip()) {
                if !addresses.contains(&address) {
                    addresses.push(address);
                }
            }
            Ok(addresses)
        })
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(address))
    }
}
