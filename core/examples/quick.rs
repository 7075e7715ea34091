use std::hint::black_box; use std::time::Instant; use tidegate::*;
fn main(){
 let l=Limiter::new(Memory::new()); let lim=Limit::bucket("k",1000).build().unwrap();
 for _ in 0..5 { let s=Instant::now(); for _ in 0..3_000_000 { let _=black_box(l.limit_sync(&lim, black_box("actor:000000000123456"))); } println!("hot {:.1}",s.elapsed().as_nanos() as f64/3e6);}
 let big=Limit::token_bucket("b",1_000_000_000,std::time::Duration::from_secs(1)).build().unwrap();
 for _ in 0..3 { let s=Instant::now(); for _ in 0..3_000_000 { let _=black_box(l.limit_sync(&big, black_box("actor:000000000123456"))); } println!("hot admitted {:.1}",s.elapsed().as_nanos() as f64/3e6);}
 let keys:Vec<String>=(0..1_000_000).map(|i| format!("actor:{i:014}")).collect();
 let lim=Limit::bucket("k2",1000000).build().unwrap();
 let l=Limiter::new(Memory::new());
 let rss=||{std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').nth(1).unwrap().parse::<usize>().unwrap()*4096};
 let r0=rss(); let s=Instant::now();
 for k in &keys { l.limit_sync(&lim,k).unwrap(); }
 println!("insert {:.1} ns, {:.1} B/key", s.elapsed().as_nanos() as f64/1e6,(rss()-r0) as f64/1e6);
 let mut x=88172645463325252u64; let idx:Vec<u32>=(0..4_000_000).map(|_|{x^=x<<13;x^=x>>7;x^=x<<17;(x%1_000_000) as u32}).collect();
 for _ in 0..3 { let s=Instant::now(); for i in &idx { let _=black_box(l.limit_sync(&lim, &keys[*i as usize])); } println!("1M random {:.1}",s.elapsed().as_nanos() as f64/4e6);}
 for _ in 0..3 { let s=Instant::now(); let mut a=0; for i in &idx { a+=keys[*i as usize].as_bytes()[5] as usize; } black_box(a); println!("keys alone {:.1}",s.elapsed().as_nanos() as f64/4e6);}
}
