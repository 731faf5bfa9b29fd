//! A run on its network: what is found by `mel_net`, for users.
//!
//! - [`terminal`]: as text.

pub mod terminal;

use std::path::{Path, PathBuf};

use anyhow::Context;
use mel_log::profile::Profile;
use mel_net::advice::{Finding, advice};
use mel_net::planes::Seen;
use mel_net::ranks::{Map, Placed, place};
use mel_net::{Flows, Load, NetError, Network, Shares, flows, load};
use mel_traffic::choice::Asked;
use mel_traffic::{Hosts, Rows};

use crate::place::traffic::hosts;

/// What was found for a run.
#[derive(Debug)]
pub struct Found<'a> {
    /// The run.
    pub profile: &'a Profile,
    /// The network.
    pub network: Network,
    /// Where the ranks are.
    pub placed: Placed,
    /// What goes between them.
    pub flows: Flows,
    /// Over which planes.
    pub shares: Shares,
    /// What the links carry.
    pub load: Load,
    /// What stands out.
    pub findings: Vec<Finding>,
}

impl<'a> Found<'a> {
    /// Puts a run into a network.
    ///
    /// # Errors
    /// The profile does not say who sends what to whom, or its hosts are not in the network.
    pub fn new(profile: &'a Profile, network: Network, map: &Map, asked: Asked<'_>) -> anyhow::Result<Found<'a>> {
        let rows = Rows::of(profile);
        let placed = place(&network.fabric, &hosts(profile), map)?;
        let flows = flows(&rows, asked, &Hosts::of(profile, rows.size()).of_rank)?;
        let shares = Shares::of(&network.fabric, &seen(profile, &placed));
        let load = load(&network.fabric, &placed.host, &flows.list, &shares);
        let findings = advice(&network.fabric, &load, &shares);
        Ok(Found { profile, network, placed, flows, shares, load, findings })
    }
}

/// What each rank has seen of its connections, by interface and host. Profiles do not have it yet: then bytes are divided evenly over the
/// planes that both hosts are in.
fn seen(_profile: &Profile, _placed: &Placed) -> Vec<Seen> {
    Vec::new()
}

/// Reads the files of a network, and where ranks are in it.
///
/// # Errors
/// A file cannot be read, or is not what it should be.
pub fn read(files: &[PathBuf], map: Option<&Path>) -> anyhow::Result<(Network, Map)> {
    let network = mel_net::read(files)?;
    let map = match map {
        None => Map::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            Map::read(&text)
                .map_err(|wrong| NetError::Line { path: path.to_owned(), line: wrong.line, what: wrong.what })?
        }
    };
    Ok((network, map))
}
