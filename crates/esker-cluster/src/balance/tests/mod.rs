//! Balancers on views that are made up.

mod algorithm_1;
mod averages;
mod fleet;
mod life;
mod plans;

use esker_core::Bytes;
use esker_core::registry::{Choice, ParameterValue};

use super::{Balancer, ClusterView, CodeGroups, ServerView, SliceView, build_balancer};
use crate::id::{FailureDomain, ServerId};
use crate::plan::Plan;
use crate::wear::{FlashLoad, WearModel, build_wear_model};

/// Servers and slices of a view. Slices have 16 objects of one page, blocks have 4 pages, so that at utilisation zero 4
/// pages cost one erase.
#[derive(Clone, Debug)]
struct Cluster {
    servers: Vec<ServerView>,
    slices: Vec<SliceView>,
    codes: CodeGroups,
    budget: Bytes,
}

const OBJECTS: u32 = 16;
const PAGE: Bytes = Bytes::kib(4);

fn server(domain: usize, erases: f64) -> ServerView {
    let flash = FlashLoad { pages_per_block: 4, ..FlashLoad::UNKNOWN };
    ServerView {
        domain: FailureDomain(domain as u32),
        serves: true,
        takes_more: true,
        room: 1000,
        erases,
        life_left_pages: 1e9,
        pages_most: f64::INFINITY,
        erases_per_page: None,
        flash,
    }
}

/// A slice of which each page counts as one request, and all objects are hot.
fn slice(homes: [u16; 3], pages: f32) -> SliceView {
    SliceView { homes: homes.map(ServerId), popularity: pages, pages, hot: OBJECTS, replicas: 3, in_motion: false }
}

impl Cluster {
    /// Adds up what slices of this many replicas write to servers.
    fn new(mut servers: Vec<ServerView>, mut slices: Vec<SliceView>, replicas: u8) -> Self {
        for slice in &mut slices {
            slice.replicas = replicas;
            for home in slice.homes() {
                servers[home.index()].flash.pages += f64::from(slice.pages);
            }
        }
        Self { servers, slices, codes: CodeGroups::default(), budget: Bytes(u64::MAX) }
    }

    fn view(&self) -> ClusterView<'_> {
        ClusterView {
            servers: &self.servers,
            slices: &self.slices,
            codes: &self.codes,
            objects_per_slice: OBJECTS,
            object: PAGE,
            page: PAGE,
            budget: self.budget,
        }
    }

    fn plan(&self, balancer: &mut dyn Balancer) -> Plan {
        balancer.plan(&self.view(), &*even_model())
    }
}

fn even_model() -> Box<dyn WearModel> {
    build_wear_model(&Choice::named("light")).unwrap()
}

/// A balancer with some of its parameters.
fn balancer(kind: &str, parameters: &[(&str, ParameterValue)]) -> Box<dyn Balancer> {
    let mut choice = Choice::named(kind);
    choice.parameters.extend(parameters.iter().map(|(name, value)| (name.to_string(), value.clone())));
    build_balancer(&choice).unwrap()
}

fn text(value: &str) -> ParameterValue {
    ParameterValue::Text(value.to_string())
}

fn number(value: u64) -> ParameterValue {
    ParameterValue::Integer(value)
}
